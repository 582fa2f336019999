"""lapwing at a distance: a session at the door of a server, which plans and prices by itself.

`lapwing.connect` opens one. It needs nothing but the standard library besides what lapwing needs anyway.
"""
