"""The prices: what an event costs, how costs add up, and when to stop. No noise is drawn and no data is read here."""
