import { unless } from "../shell/refusal.ts"

/** A key that requests to a service are signed with; it is shown this once. */
export type Made = { readonly id: string; readonly signingKey: string }

export type OnMade = { readonly onMade: (made: Made) => void }

/** Saves what may be as it was. */
export const saved = <Answer>(change: Promise<Answer>) =>
  unless("message_provider.unchanged", change)

/** Whatever its age, the present key is replaced. */
export const newKey = { expirationSigningKey: { seconds: 0n } } as const
