const key = "latchkey.checklist.away"

/** Whether the first steps were put away in this browser. */
export const isAway = () => localStorage.getItem(key) !== null

export const putAway = () => localStorage.setItem(key, "1")
