/**
 * Whether this is the built binary. Checks that only find programming errors are skipped in
 * production, so that they don't slow down the start.
 */
export const isProduction = process.env.NODE_ENV === "production"
