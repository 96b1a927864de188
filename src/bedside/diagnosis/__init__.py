"""From a Run to a Diagnosis: run the rules, link what they found into one story, weigh explanations, give a verdict."""
