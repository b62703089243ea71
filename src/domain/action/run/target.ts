import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { org } from "../../org/index.ts"
import { appliesTo } from "../../policy/index.ts"
import { askTargets, type FunctionName, hasFunction, mayMendTargets } from "../../target/index.ts"
import { heldMetadata, type Metadata } from "../../user/index.ts"
import { user } from "../../user-model/index.ts"
import { effectError } from "./effect.ts"
import { shownGrants, shownUser } from "./person.ts"
import { refusedId } from "./run.ts"

/** What a target wants of a token, userinfo or a SAML response. */
export type Said = {
  readonly metadata: readonly Metadata[]
  readonly claims: readonly (readonly [key: string, value: unknown])[]
  readonly logs: readonly string[]
  readonly attributes: readonly (readonly [
    name: string,
    format: string,
    values: readonly string[],
  ])[]
}

/** Whether targets have a say there, beside scripts. */
export const hasSay = hasFunction

export type About = {
  readonly userId: string
  /** Whether it goes on whoever it is about, whatever fails. */
  readonly isOpen: boolean
  /** What is sent beside what is known of the person. */
  readonly more: () => object
  /** Takes what one says; a Fault where that can't be. */
  readonly take: (said: Said) => void
}

/** Asks the targets of a function about a person. Faults like a script where one refuses. */
export async function askAbout(cx: Cx, name: FunctionName, about: About): Promise<void> {
  if (!hasFunction(cx, name)) return
  const { userId, isOpen, more, take } = about
  try {
    await askTargets(cx, name, {
      payload: () => ({ ...personOf(cx, userId), ...more() }),
      // What is said of somebody who outranks its authors does not apply.
      take: (text, authors) => {
        const said = saidIn(text)
        if (appliesTo(cx, userId, authors)) take(said)
      },
      isLenient: () => isOpen || mayMendTargets(cx, userId),
    })
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    throw new Fault("failed_precondition", refusedId, cause.message, { cause })
  }
}

/** Whom it is about; the names are the interface's. */
function personOf(cx: Cx, userId: string) {
  const id = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const { name, primaryDomain } = cx.store.state(cx, org, id)
  return {
    user: shownUser(cx, userId),
    user_metadata: [...heldMetadata(cx, userId)].map(([key, value]) => ({
      key,
      value: Buffer.from(value).toString("base64"),
    })),
    org: { id, name, primary_domain: primaryDomain },
    user_grants: shownGrants(cx, userId).grants,
  }
}

type Fields = Readonly<Record<string, unknown>>

const itemsMax = 50
const metadataMax = 100_000

/** All of what a target answers, or a Fault: nothing is taken of what can't be understood. */
function saidIn(text: string): Said {
  const fields = fieldsIn(parsed(text))
  return {
    metadata: listIn(fields, "set_user_metadata").map(metadataIn),
    claims: listIn(fields, "append_claims").map((each) => {
      const { key, value } = fieldsIn(each)
      return [textIn("append_claims.key", key), value] as const
    }),
    logs: listIn(fields, "append_log_claims").map((each) => textIn("append_log_claims", each)),
    attributes: listIn(fields, "append_attribute").map((each) => {
      const { name, name_format: format, value } = fieldsIn(each)
      const values = listIn({ value }, "value").map((one) => textIn("append_attribute.value", one))
      return [textIn("append_attribute.name", name), textIn("name_format", format ?? ""), values]
    }),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw effectError("its answer is no JSON")
  }
}

function fieldsIn(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw effectError("its answer has something else where an object should be")
  }
  return Object.fromEntries(Object.entries(value))
}

function listIn(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name] ?? []
  if (Array.isArray(value) && value.length <= itemsMax) return value
  throw effectError(`${name} must be a list of at most ${itemsMax}`)
}

function textIn(name: string, value: unknown): string {
  if (typeof value === "string") return value
  throw effectError(`${name} must be a text`)
}

/** Bytes in base64, as the interface has them. */
function metadataIn(each: unknown): Metadata {
  const { key, value } = fieldsIn(each)
  const [name, text] = [
    textIn("set_user_metadata.key", key),
    textIn("set_user_metadata.value", value),
  ]
  if (name === "" || name.length > 200 || text.length > metadataMax) {
    throw effectError(
      `metadata has a key of 1 to 200 characters, and a value of at most ${metadataMax}`,
    )
  }
  return { key: name, value: Buffer.from(text, "base64") }
}
