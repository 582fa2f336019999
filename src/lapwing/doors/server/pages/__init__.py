"""Pages for people: analysts who ask, custodians who decide, auditors who check. Drawn by the server, without a script.

A page does what a program does: every act goes through an operation of the table, as the person who is signed in. With
its small script a page shows prices while a form is filled in; without it every button loads the page anew.
"""
