"""What is public: columns and what they may hold, tables and people, vocabularies and concept sets."""
