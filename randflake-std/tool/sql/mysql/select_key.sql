    SELECT
        t.k1, t.k2, t.k3, t.k4, t.k5, t.k6, t.k7, t.k8, t.k9, t.k10, t.k11, t.k12, t.k13, t.k14, t.k15, t.k16, t.k17,
        t.k18, t.k19, t.k20, t.k21, t.k22, t.k23, t.k24, t.k25
    INTO
        k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, k15, k16, k17, k18, k19, k20, k21, k22, k23, k24,
        k25
    FROM `key` AS t