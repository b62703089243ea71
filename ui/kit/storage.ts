/**
 * The browser's storage, or undefined if cookies are blocked, in which case accessing it throws.
 */
export function findStorage(kind: "localStorage" | "sessionStorage"): Storage | undefined {
  try {
    return window[kind]
  } catch {
    return undefined
  }
}
