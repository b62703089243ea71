/** What the keys of unsaved changes begin with, in the storage of this tab. */
export const draftPrefix = "latchkey.draft"

/** Removes all unsaved changes, so that the next person at this tab finds none. */
export function removeDrafts(): void {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith(draftPrefix)) sessionStorage.removeItem(key)
  }
}
