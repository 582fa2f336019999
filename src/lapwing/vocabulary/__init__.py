"""The nouns that every part of lapwing shares: who is protected, what happened, what it costs, what went wrong.

Nothing here computes a price, draws noise or reads data, and nothing here imports any other part of lapwing.
"""
