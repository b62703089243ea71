import { type DescMessage, fromJson, type JsonObject, type MessageShape } from "@bufbuild/protobuf"
import { createCaller } from "../../../api/method.ts"
import type { DataOrg } from "../../../gen/core/admin/v1/data_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import {
  SetCustomDomainClaimedMessageTextRequestSchema,
  SetCustomInitMessageTextRequestSchema,
  SetCustomInviteUserMessageTextRequestSchema,
  SetCustomLoginTextsRequestSchema,
  type SetCustomMessageTextRequest,
  SetCustomMessageTextRequestSchema,
  SetCustomPasswordlessRegistrationMessageTextRequestSchema,
  SetCustomPasswordResetMessageTextRequestSchema,
  SetCustomVerifyEmailMessageTextRequestSchema,
  SetCustomVerifyEmailOTPMessageTextRequestSchema,
  SetCustomVerifyPhoneMessageTextRequestSchema,
  SetCustomVerifySMSOTPMessageTextRequestSchema,
} from "../../../gen/core/management/v1/text_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { pageLanguages } from "../../../kernel/text/language.ts"
import type { Cx } from "../../../store/index.ts"
import { shares } from "../../text/api.ts"
import { additionalMessageKinds, customTextsOf } from "../../text/index.ts"
import {
  type Field,
  type ItemKind,
  itemKind,
  type OrgPiece,
  permissionsFor,
} from "./v1-item-kind.ts"

const callOperation = createCaller<Cx>(shares)
const { method } = ManagementService

/** The texts of an organization for one template, in one message per language. */
type TextSpec<S extends DescMessage, V> = {
  readonly field: Field
  /** The name of the template in the text module. */
  readonly template: string
  readonly schema: S
  readonly from: (org: DataOrg) => readonly V[]
  readonly toPiece: (value: MessageShape<S>) => OrgPiece
  readonly set: (cx: Cx, value: V) => Promise<unknown>
}

const textRow = <S extends DescMessage, V extends { readonly language: string }>(
  text: TextSpec<S, V>,
): ItemKind => {
  const { field, template, schema, from, toPiece, set } = text
  return itemKind<V>({
    field,
    needs: permissionsFor("policy"),
    from,
    *read(cx, orgId) {
      for (const language of pageLanguages) {
        const customTexts = customTextsOf(cx, orgId, { template, language })
        if (customTexts) yield toPiece(fromJson(schema, { language, ...blocksOf(customTexts) }))
      }
    },
    write: async (cx, orgId, value) => {
      const { language } = value
      if (customTextsOf(cx, orgId, { template, language })) throw customTextsExistError()
      await set(cx, value)
    },
    idOf: ({ language }) => language,
    successOf: ({ language }) => ({ settings: [`${field}/${language}`] }),
  })
}

/** The texts of a message by key; "block.field" is in a nested message. */
function blocksOf(texts: Readonly<Record<string, string>>): JsonObject {
  const fields: JsonObject = {}
  const blocks: Record<string, JsonObject> = {}
  for (const [key, text] of Object.entries(texts)) {
    const [block = "", field] = key.split(".")
    if (field === undefined) fields[block] = text
    else blocks[block] = { ...blocks[block], [field]: text }
  }
  return { ...fields, ...blocks }
}

const customTextsExistError = () =>
  new Fault(
    "already_exists",
    "text.said",
    "the organization already has custom texts for this template and language",
  )

/** The additional message kinds of Latchkey, which share one field. */
const messagesRow = itemKind<SetCustomMessageTextRequest>({
  field: "messages",
  needs: permissionsFor("policy"),
  from: (org) => org.messages,
  *read(cx, orgId) {
    for (const kind of additionalMessageKinds) {
      for (const language of pageLanguages) {
        const customTexts = customTextsOf(cx, orgId, { template: `message.${kind}`, language })
        if (!customTexts) continue
        const json = { kind, language, ...blocksOf(customTexts) }
        yield { messages: [fromJson(SetCustomMessageTextRequestSchema, json)] }
      }
    }
  },
  write: async (cx, orgId, value) => {
    const { kind, language } = value
    if (customTextsOf(cx, orgId, { template: `message.${kind}`, language }))
      throw customTextsExistError()
    await callOperation(cx, method.setCustomMessageText, value)
  },
  idOf: ({ kind, language }) => `${kind}/${language}`,
  successOf: ({ kind, language }) => ({ settings: [`messages/${kind}/${language}`] }),
})

export const textRows = [
  messagesRow,
  textRow({
    field: "loginTexts",
    template: "login",
    schema: SetCustomLoginTextsRequestSchema,
    from: (org) => org.loginTexts,
    toPiece: (value) => ({ loginTexts: [value] }),
    set: (cx, value) => callOperation(cx, method.setCustomLoginText, value),
  }),
  textRow({
    field: "initMessages",
    template: "message.init",
    schema: SetCustomInitMessageTextRequestSchema,
    from: (org) => org.initMessages,
    toPiece: (value) => ({ initMessages: [value] }),
    set: (cx, value) => callOperation(cx, method.setCustomInitMessageText, value),
  }),
  textRow({
    field: "passwordResetMessages",
    template: "message.password_reset",
    schema: SetCustomPasswordResetMessageTextRequestSchema,
    from: (org) => org.passwordResetMessages,
    toPiece: (value) => ({ passwordResetMessages: [value] }),
    set: (cx, value) => callOperation(cx, method.setCustomPasswordResetMessageText, value),
  }),
  textRow({
    field: "verifyEmailMessages",
    template: "message.verify_email",
    schema: SetCustomVerifyEmailMessageTextRequestSchema,
    from: (org) => org.verifyEmailMessages,
    toPiece: (value) => ({ verifyEmailMessages: [value] }),
    set: (cx, value) => callOperation(cx, method.setCustomVerifyEmailMessageText, value),
  }),
  textRow({
    field: "verifyPhoneMessages",
    template: "message.verify_phone",
    schema: SetCustomVerifyPhoneMessageTextRequestSchema,
    from: (org) => org.verifyPhoneMessages,
    toPiece: (value) => ({ verifyPhoneMessages: [value] }),
    set: (cx, value) => callOperation(cx, method.setCustomVerifyPhoneMessageText, value),
  }),
  textRow({
    field: "domainClaimedMessages",
    template: "message.domain_claimed",
    schema: SetCustomDomainClaimedMessageTextRequestSchema,
    from: (org) => org.domainClaimedMessages,
    toPiece: (value) => ({ domainClaimedMessages: [value] }),
    set: (cx, value) => callOperation(cx, method.setCustomDomainClaimedMessageCustomText, value),
  }),
  textRow({
    field: "passwordlessRegistrationMessages",
    template: "message.passwordless_registration",
    schema: SetCustomPasswordlessRegistrationMessageTextRequestSchema,
    from: (org) => org.passwordlessRegistrationMessages,
    toPiece: (value) => ({ passwordlessRegistrationMessages: [value] }),
    set: (cx, value) =>
      callOperation(cx, method.setCustomPasswordlessRegistrationMessageCustomText, value),
  }),
  textRow({
    field: "verifySmsOtpMessages",
    template: "message.verify_sms_otp",
    schema: SetCustomVerifySMSOTPMessageTextRequestSchema,
    from: (org) => org.verifySmsOtpMessages,
    toPiece: (value) => ({ verifySmsOtpMessages: [value] }),
    set: (cx, value) => callOperation(cx, method.setCustomVerifySMSOTPMessageText, value),
  }),
  textRow({
    field: "verifyEmailOtpMessages",
    template: "message.verify_email_otp",
    schema: SetCustomVerifyEmailOTPMessageTextRequestSchema,
    from: (org) => org.verifyEmailOtpMessages,
    toPiece: (value) => ({ verifyEmailOtpMessages: [value] }),
    set: (cx, value) => callOperation(cx, method.setCustomVerifyEmailOTPMessageText, value),
  }),
  textRow({
    field: "inviteUserMessages",
    template: "message.invite_user",
    schema: SetCustomInviteUserMessageTextRequestSchema,
    from: (org) => org.inviteUserMessages,
    toPiece: (value) => ({ inviteUserMessages: [value] }),
    set: (cx, value) => callOperation(cx, method.setCustomInviteUserMessageCustomText, value),
  }),
] as const
