"""From a plan and a wish to an answer.

`wishes` is what one pays or wants, `choosing` finds the mechanism, `releases` are plans with their mechanisms. `answer`
is what is told, with `labels` for its rows and `changes` for what is computed from it, and `preview` is what can be
said before. Streams have the like: `stream_terms`, `stream_preview` and `verdicts`.

Nothing here decides when data is read; `lapwing.session` does, and `lapwing.streams`.
"""
