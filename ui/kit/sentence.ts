/** Converts an API message, which starts in lower case, to a sentence. */
export function toSentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1)
}
