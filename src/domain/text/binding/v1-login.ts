import { bindHandlers } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import type { Cx } from "../../../store/index.ts"
import { unshownFields } from "../field/unshown.ts"
import { fieldTemplate } from "../login-templates.ts"
import type { Texts } from "../model.ts"
import { operationsOf } from "../operations.ts"

const login = operationsOf(fieldTemplate, { parse: fieldsOf, format: blocksOf })

export const admin = bindHandlers<Cx>()(AdminService, {
  getDefaultLoginTexts: login.instance.standard,
  getCustomLoginTexts: login.instance.get,
  setCustomLoginText: withUnshownFields(login.instance.set),
  resetCustomLoginTextToDefault: login.instance.reset,
})

export const management = bindHandlers<Cx>()(ManagementService, {
  getDefaultLoginTexts: login.instance.get,
  getCustomLoginTexts: login.org.get,
  setCustomLoginText: withUnshownFields(login.org.set),
  resetCustomLoginTextToDefault: login.org.reset,
})

/** Adds to the response the stored fields that no page shows. */
function withUnshownFields<Requested extends object, Answer extends object>(
  set: (requested: Requested, cx: Cx) => Promise<Answer>,
) {
  return async (requested: Requested, cx: Cx) => {
    const setFields = Object.entries(fieldsOf(requested)).filter(([, text]) => text !== "")
    const notShown = setFields.flatMap(([field]) => (unshownFields[field] ? [field] : []))
    return { ...(await set(requested, cx)), notShown }
  }
}

/** The blocks of a request as a flat list of `block.field`. */
function fieldsOf(requested: object): Texts {
  const fields = Object.entries(requested).flatMap(([block, value]) =>
    typeof value === "object" && value ? Object.entries(value).map(flatten(block)) : [],
  )
  return Object.fromEntries(fields.flatMap((field) => field ?? []))
}

const flatten =
  (block: string) =>
  ([field, text]: readonly [string, unknown]) =>
    typeof text === "string" && field !== "$typeName" ? [[`${block}.${field}`, text]] : undefined

/** The texts as blocks. */
function blocksOf(texts: Texts): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const blocks: Record<string, Record<string, string>> = {}
  for (const [name, text] of Object.entries(texts)) {
    const [block = "", field = ""] = name.split(".")
    blocks[block] = { ...blocks[block], [field]: text }
  }
  return blocks
}
