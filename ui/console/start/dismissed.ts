const storageKey = "latchkey.checklist.away"

/** Whether the first steps were dismissed in this browser. */
export const isDismissed = () => localStorage.getItem(storageKey) !== null

export const dismiss = () => localStorage.setItem(storageKey, "1")
