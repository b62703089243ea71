import { type Random, randomToken } from "../../kernel/crypto/random.ts"

/** What the ids begin with of users and applications that a self-check makes, and removes again. */
export const temporaryPrefix = "latchkey-doctor-"

export const isTemporaryId = (id: string): boolean => id.startsWith(temporaryPrefix)

/** An id that nobody had before, and nobody is given later; it names the node that made it. */
export const newTemporaryId = (random: Random, node: number): string =>
  `${prefixOf(node)}${randomToken(random, 12)}`

/** Whether a self-check of this node made a user. */
export const isTemporaryOf = (id: string, node: number): boolean => id.startsWith(prefixOf(node))

const prefixOf = (node: number): string => `${temporaryPrefix}${node}-`

/** RFC 2606 §2: no mail can be sent there. */
export const temporaryEmail = (id: string): string => `${id}@doctor.invalid`
