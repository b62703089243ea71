import { share } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import type { Cx } from "../../../store/index.ts"
import { unshownFields } from "../field/unshown.ts"
import { fieldTemplate } from "../login.ts"
import type { Texts } from "../model.ts"
import { operationsOf } from "../operation.ts"

const login = operationsOf(fieldTemplate, { read: fieldsOf, show: blocksOf })

export const admin = share<Cx>()(AdminService, {
  getDefaultLoginTexts: login.instance.standard,
  getCustomLoginTexts: login.instance.get,
  setCustomLoginText: answering(login.instance.set),
  resetCustomLoginTextToDefault: login.instance.reset,
})

export const management = share<Cx>()(ManagementService, {
  getDefaultLoginTexts: login.instance.get,
  getCustomLoginTexts: login.org.get,
  setCustomLoginText: answering(login.org.set),
  resetCustomLoginTextToDefault: login.org.reset,
})

/** Names what was set and is on no page, so that nobody looks for it there. */
function answering<Requested extends object, Answer extends object>(
  set: (requested: Requested, cx: Cx) => Promise<Answer>,
) {
  return async (requested: Requested, cx: Cx) => {
    const said = Object.entries(fieldsOf(requested)).filter(([, text]) => text !== "")
    const notShown = said.flatMap(([field]) => (unshownFields[field] ? [field] : []))
    return { ...(await set(requested, cx)), notShown }
  }
}

/** The blocks of a request, as one list of `block.field`. */
function fieldsOf(requested: object): Texts {
  const fields = Object.entries(requested).flatMap(([block, value]) =>
    typeof value === "object" && value ? Object.entries(value).map(named(block)) : [],
  )
  return Object.fromEntries(fields.flatMap((field) => field ?? []))
}

const named =
  (block: string) =>
  ([field, text]: readonly [string, unknown]) =>
    typeof text === "string" && field !== "$typeName" ? [[`${block}.${field}`, text]] : undefined

/** The other way round. */
function blocksOf(texts: Texts): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const blocks: Record<string, Record<string, string>> = {}
  for (const [name, text] of Object.entries(texts)) {
    const [block = "", field = ""] = name.split(".")
    blocks[block] = { ...blocks[block], [field]: text }
  }
  return blocks
}
