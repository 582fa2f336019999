"""Surveys in the local model: every person's own device adds the noise, and the collector is trusted with nothing.

This room stands beside the spine and never calls it: there is no table of people, no session, no population's budget.
What is spent is each person's own.

::

    local_survey    lw.survey: the plan, the client, the collector
    questionnaire   what is asked, at which price
    report_law      how likely each report is, in whole numbers; the two laws and the choice between them
    phone           what a device does: whole numbers and a fair die; its text is copied into every client
    client_file     the client as one file without dependencies, in Python or as a page
    collector       takes each device once a round, durably, and keeps an account per person
    agreements      with how many reports each answer agrees, for all answers at once, by transforms
    intervals       how many people that can be; intervals that hold for every truth
    estimates       the table of results
"""
