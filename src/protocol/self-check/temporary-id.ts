import { type Random, randomToken } from "../../kernel/crypto/random.ts"

/** The ID prefix of the temporary users and applications of self-checks. */
export const temporaryPrefix = "latchkey-doctor-"

export const isTemporaryId = (id: string): boolean => id.startsWith(temporaryPrefix)

/** Creates an ID that is never reused; it contains the node that created it. */
export const createTemporaryId = (random: Random, node: number): string =>
  `${prefixOf(node)}${randomToken(random, 12)}`

/** Whether an ID was created by a self-check of this node. */
export const isTemporaryIdOfNode = (id: string, node: number): boolean =>
  id.startsWith(prefixOf(node))

const prefixOf = (node: number): string => `${temporaryPrefix}${node}-`

/** RFC 2606 §2: no mail can be sent there. */
export const temporaryEmail = (id: string): string => `${id}@doctor.invalid`
