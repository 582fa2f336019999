"""From a plan and a target to an answer.

`target` is the price or the accuracy wanted, `releases` are mechanisms with their events, `answer` is what is returned,
`preview` is what is known before. For streams there are `stream_terms`, `stream_preview` and `stream_answers`.

Nothing here decides when data is read; `lapwing.session` does, and `lapwing.streams`.
"""
