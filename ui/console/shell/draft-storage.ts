/** Prefix of session storage keys for drafts. */
export const draftPrefix = "latchkey.draft"

/** Removes all drafts, so that the next user of this tab doesn't find them. */
export function removeDrafts(): void {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith(draftPrefix)) sessionStorage.removeItem(key)
  }
}
