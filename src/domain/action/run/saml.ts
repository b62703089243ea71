import type { Cx } from "../../../store/index.ts"
import { type Metadata, setMetadata } from "../../user/index.ts"
import { user } from "../../user-model/index.ts"
import type { Effect } from "../script/messages.ts"
import { effectError, lastByKey, parseMetadata } from "./effect.ts"
import { runScripts, scriptsFor } from "./run.ts"
import { canEditScripts, userAnswers, userForScript } from "./script-user.ts"
import { callTargetsForScript, hasTargets } from "./target.ts"

/** An additional attribute of an assertion. */
export type SamlAttribute = {
  readonly name: string
  /** A URI; empty if the script sets none. */
  readonly format: string
  readonly values: readonly string[]
}

/** The limits of one assertion, which is sent through the browser. */
const attributeMax = { attributes: 50, values: 100, characters: 1000 } as const

/**
 * The attributes that the scripts of a user's organization add to an assertion, followed by those
 * of the instance's targets. `taken` are the names of existing attributes. Throws if a script or
 * target rejects.
 */
export async function complementSaml(
  cx: Cx,
  { userId, taken: existingNames }: { readonly userId: string; readonly taken: readonly string[] },
): Promise<readonly SamlAttribute[]> {
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const moment = { orgId, userId, flowType: 4, triggerType: 6 } as const
  if (scriptsFor(cx, moment).length === 0 && !hasTargets(cx, "presamlresponse")) return []
  const attributes = new Map<string, SamlAttribute>()
  const addedMetadata: Metadata[] = []
  const add = (attribute: SamlAttribute) => {
    const isNew = !existingNames.includes(attribute.name) && !attributes.has(attribute.name)
    if (isNew && attributes.size < attributeMax.attributes)
      attributes.set(attribute.name, attribute)
  }
  await runScripts(cx, moment, {
    input: () => ({ shape: "saml", data: { user: userForScript(cx, userId) } }),
    answers: userAnswers(cx, userId, orgId),
    applyEffect: (effect) => {
      if (effect[0] === "metadata") addedMetadata.push(parseMetadata(effect))
      else {
        const attribute = parseAttribute(effect)
        if (!isEmailName(attribute.name)) add(attribute)
      }
    },
    isLenient: () => canEditScripts(cx, userId, orgId),
  })
  await callTargetsForScript(cx, "presamlresponse", {
    userId,
    ignoresErrors: false,
    additionalData: () => ({}),
    applyResponse: (response) => {
      const added = response.attributes.map(([name, format, values]) =>
        parseAttribute(["attribute", name, format, ...values]),
      )
      for (const each of added) add(each)
      addedMetadata.push(...response.metadata)
    },
  })
  if (addedMetadata.length > 0) await setMetadata(cx, userId, lastByKey(addedMetadata))
  return [...attributes.values()]
}

const emailIds = ["urn:oid:0.9.2342.19200300.100.1.3", "urn:oid:1.2.840.113549.1.9.1"]

/**
 * Whether service providers interpret an attribute as the email address. A script of an
 * organization can't add it, because the server omits it if the service provider can't rely on its
 * verification.
 */
const isEmailName = (name: string): boolean =>
  emailIds.includes(name.trim().toLowerCase()) ||
  /(?:^|[/:._-])(?:e-?mail(?:_?address)?|mail)$/i.test(name.trim())

/** The attribute of an effect; throws if the effect is not an attribute. */
export function parseAttribute([kind, name, format, ...values]: Effect): SamlAttribute {
  const texts = values.flat().map(String)
  const all = [name, format, ...texts]
  const isText = (value: unknown) =>
    typeof value === "string" && value.length <= attributeMax.characters
  if (
    kind !== "attribute" ||
    name === "" ||
    !all.every(isText) ||
    texts.length > attributeMax.values
  ) {
    throw effectError(
      `setCustomAttribute requires a name, a format and at most ${attributeMax.values} values, ` +
        "each a string",
    )
  }
  return { name: String(name), format: String(format), values: texts }
}
