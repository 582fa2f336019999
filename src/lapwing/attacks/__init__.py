"""What happens without lapwing, and at its door: attacks that read people's secrets out of answers about crowds."""
