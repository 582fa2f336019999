"""From a plan and a target to an answer.

`target` is what one pays or wants, `releases` finds the mechanism for it, `answer` is what is returned, `preview`
is what can be said before. Streams have the like: `stream_terms` and `verdicts`.

Nothing here decides when data is read; `lapwing.session` does, and `lapwing.streams`.
"""
