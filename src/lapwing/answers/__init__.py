"""From a plan and a wish to an answer.

`wishes` is what one pays or wants, `releases` chooses the mechanism, `answer` is what is told, and `preview` is what
can be said before.

Nothing here decides when data is read; `lapwing.session` does, and `lapwing.streams`.
"""
