/** Addresses of the API servers of the hub and the target. Both use port 6443, which the NetworkPolicy of Purser allows. */
export const HUB = '10.240.0.1';
export const TARGET = '10.240.0.2';
