// Self-checks send real requests to the public URL. Their events have a matching correlation, and
// reactors skip these, so that nothing reaches external services.

const prefix = "self-check-"

/** The ID of the requests of one self-check. */
export const selfCheckId = (id: string): string => `${prefix}${id}`

/** Whether a request, or an event that it caused, belongs to a self-check. */
export const isSelfCheck = (requestId: string): boolean => requestId.startsWith(prefix)
