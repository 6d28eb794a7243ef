"""What a turn says, without a model: names, claims, dates and wishes, each with its stretch of the text. C18."""
