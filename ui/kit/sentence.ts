/** Messages of the interface begin small, as programs print them; people read a sentence. */
export function sentenceOf(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1)
}
