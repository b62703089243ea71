/**
 * What this browser stores for our pages; undefined where it blocks cookies, and with them all
 * storage: it then throws where one only asks for it.
 */
export function storageOf(kind: "localStorage" | "sessionStorage"): Storage | undefined {
  try {
    return window[kind]
  } catch {
    return undefined
  }
}
