#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes reviews.csv and houses.csv beside this file: made-up data, the same every time."""

import csv
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))

THINGS = ["film", "book", "meal", "hotel", "song", "play", "camera", "phone", "garden", "train ride", "lamp", "bicycle"]
PARTS = ["the start", "the ending", "the colour", "the service", "the sound", "the price", "the weight", "the story",
         "the view", "the finish", "the staff", "the packaging"]
GOOD = ["good", "great", "lovely", "excellent", "charming", "solid", "bright", "pleasant", "clever", "wonderful"]
BAD = ["bad", "poor", "dull", "awful", "clumsy", "weak", "noisy", "tiresome", "ugly", "dreadful"]
FILLER = ["I bought it on a Monday.", "We went there with two friends.", "It arrived in a plain box.",
          "My sister had told me about it.", "There was rain all day.", "I had waited for it since spring.",
          "It stands on my desk now.", "Nobody asked us anything.", "The shop is near the station."]


def judgement(rng, positive):
    """A sentence whose sense hangs on its order: a negation turns the word that follows it."""
    turned = rng.random() < 0.4
    word = rng.choice(GOOD if positive != turned else BAD)
    subject = rng.choice(PARTS)
    if turned:
        return rng.choice([f"{subject} was not {word}", f"{subject} was never {word}",
                           f"I would not call {subject} {word}"])
    return rng.choice([f"{subject} was {word}", f"{subject} was really {word}", f"I would call {subject} {word}"])


def review(rng, positive):
    sentences = [f"This {rng.choice(THINGS)} is one to talk about."] if rng.random() < 0.5 else []
    sentences += rng.sample(FILLER, rng.randrange(0, 4))
    for _ in range(rng.randrange(1, 4)):
        sentences.append(judgement(rng, positive).capitalize() + rng.choice(".!."))
    rng.shuffle(sentences)
    return " ".join(sentences)


def reviews(path, n, rng):
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["mood", "review"])
        for i in range(n):
            positive = rng.random() < 0.5
            rows.writerow(["positive" if positive else "negative", review(rng, positive)])


def houses(path, n, rng):
    districts = {"harbour": 1.3, "centre": 1.5, "hills": 1.1, "north": 0.8, "meadows": 0.9}
    heatings = {"gas": 0.0, "heat pump": 18.0, "oil": -12.0}
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["area", "rooms", "built", "distance", "district", "heating", "price"])
        for _ in range(n):
            area = rng.gauss(110, 35)
            area = max(area, 30)
            rooms = max(1, round(area / 28 + rng.gauss(0, 0.7)))
            built = rng.randrange(1900, 2024)
            distance = rng.expovariate(0.2)
            district, heating = rng.choice(list(districts)), rng.choice(list(heatings))
            price = (area * 2.6 * districts[district] + 8 * rooms - 0.35 * (2024 - built) - 4 * distance
                     + heatings[heating] + rng.gauss(0, 12))
            cells = [f"{area:.1f}", rooms, built, f"{distance:.2f}", district, heating]
            for i in (2, 3):
                if rng.random() < 0.04:
                    cells[i] = ""
            rows.writerow(cells + [f"{price:.1f}"])


def main():
    reviews(os.path.join(HERE, "reviews.csv"), 3000, random.Random(1))
    reviews(os.path.join(HERE, "reviews-test.csv"), 500, random.Random(2))
    houses(os.path.join(HERE, "houses.csv"), 2500, random.Random(3))
    houses(os.path.join(HERE, "houses-test.csv"), 500, random.Random(4))


if __name__ == "__main__":
    main()
