import type { Transaction } from "../../store/index.ts"
import { org } from "../org/index.ts"
import { type Admit, passwordOf, user } from "../user/index.ts"

/** What keeps somebody out who knows the password of an account. */
export type Hindrance = "wrong" | "locked" | "inactive" | "change required"

/**
 * Decides, as a part of a step, whether a right password lets in: at every entrance by the same
 * rules. Undefined where nothing is in the way.
 */
export function hindranceOf(tx: Transaction, userId: string, admit: Admit): Hindrance | undefined {
  const admitted = admit(tx)
  if (admitted !== "ok") return admitted === "none" ? "wrong" : admitted
  if (!isHomeActive(tx, userId)) return "inactive"
  return passwordOf(tx.state(user, userId))?.changeRequired ? "change required" : undefined
}

/** The same for who has proved themself without a password. */
export function standingOf(tx: Transaction, userId: string): "locked" | "inactive" | undefined {
  const { status } = tx.state(user, userId)
  if (status === "locked") return "locked"
  return status === "active" && isHomeActive(tx, userId) ? undefined : "inactive"
}

const isHomeActive = (tx: Transaction, userId: string): boolean =>
  tx.state(org, tx.owner(user, userId)).status === "active"
