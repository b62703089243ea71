import type { Cx } from "../../../store/index.ts"
import { type Metadata, setMetadata } from "../../user/index.ts"
import { user } from "../../user-model/index.ts"
import type { Effect } from "../script/wire.ts"
import { effectError, lastOfEach, metadataIn } from "./effect.ts"
import { answersAbout, mayMend, shownUser } from "./person.ts"
import { play, scriptsAt } from "./run.ts"
import { askAbout, hasSay } from "./target.ts"

/** What an assertion says of somebody, beside what it says by itself. */
export type Attribute = {
  readonly name: string
  /** A URI; empty where the script says none. */
  readonly format: string
  readonly values: readonly string[]
}

/** Of one assertion; it travels through the browser. */
const most = { attributes: 50, values: 100, characters: 1000 } as const

/**
 * The attributes that the scripts of a person's organisation add to an assertion, and then the
 * targets of the instance; `taken` are names of those that are there. Faults where one refuses.
 */
export async function complementSaml(
  cx: Cx,
  { userId, taken }: { readonly userId: string; readonly taken: readonly string[] },
): Promise<readonly Attribute[]> {
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const moment = { orgId, userId, flowType: 4, triggerType: 6 } as const
  if (scriptsAt(cx, moment).length === 0 && !hasSay(cx, "presamlresponse")) return []
  const attributes = new Map<string, Attribute>()
  const noted: Metadata[] = []
  const add = (attribute: Attribute) => {
    const isNew = !taken.includes(attribute.name) && !attributes.has(attribute.name)
    if (isNew && attributes.size < most.attributes) attributes.set(attribute.name, attribute)
  }
  await play(cx, moment, {
    input: () => ({ shape: "saml", data: { user: shownUser(cx, userId) } }),
    answers: answersAbout(cx, userId, orgId),
    take: (effect) => {
      if (effect[0] === "metadata") noted.push(metadataIn(effect))
      else {
        const attribute = attributeIn(effect)
        if (!isEmailName(attribute.name)) add(attribute)
      }
    },
    isLenient: () => mayMend(cx, userId, orgId),
  })
  await askAbout(cx, "presamlresponse", {
    userId,
    isOpen: false,
    more: () => ({}),
    take: (said) => {
      const added = said.attributes.map(([name, format, values]) =>
        attributeIn(["attribute", name, format, ...values]),
      )
      for (const each of added) add(each)
      noted.push(...said.metadata)
    },
  })
  if (noted.length > 0) await setMetadata(cx, userId, lastOfEach(noted))
  return [...attributes.values()]
}

const emailIds = ["urn:oid:0.9.2342.19200300.100.1.3", "urn:oid:1.2.840.113549.1.9.1"]

/**
 * Whether service providers read an attribute as the email address. An organization's script can't
 * add it: the server has left it out where the service provider can't rely on its verification.
 */
const isEmailName = (name: string): boolean =>
  emailIds.includes(name.trim().toLowerCase()) ||
  /(?:^|[/:._-])(?:e-?mail(?:_?address)?|mail)$/i.test(name.trim())

/** The attribute that an effect is; a Fault where it is none. */
export function attributeIn([kind, name, format, ...values]: Effect): Attribute {
  const texts = values.flat().map(String)
  const all = [name, format, ...texts]
  const isText = (value: unknown) => typeof value === "string" && value.length <= most.characters
  if (kind !== "attribute" || name === "" || !all.every(isText) || texts.length > most.values) {
    throw effectError(
      `setCustomAttribute takes a name, a format and at most ${most.values} values, each a text`,
    )
  }
  return { name: String(name), format: String(format), values: texts }
}
