select sum(least(greatest(cost, 0), 10)), corr(nights, clip(cost, 0, 10)), var_pop(2 * nights - 1) from visits
