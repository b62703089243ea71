import { type DescMessage, fromJson, type JsonObject, type MessageShape } from "@bufbuild/protobuf"
import { askerOf } from "../../../api/method.ts"
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
import { ownMessageKinds, saidTexts } from "../../text/index.ts"
import { type Field, needs, type Piece, type Row, row } from "./v1-row.ts"

const ask = askerOf<Cx>(shares)
const { method } = ManagementService

/** What an organisation says of one thing, in one message for each language. */
type Text<S extends DescMessage, V> = {
  readonly field: Field
  /** The name of the template, as its own module calls it. */
  readonly template: string
  readonly schema: S
  readonly from: (org: DataOrg) => readonly V[]
  readonly into: (value: MessageShape<S>) => Piece
  readonly set: (cx: Cx, value: V) => Promise<unknown>
}

const textRow = <S extends DescMessage, V extends { readonly language: string }>(
  text: Text<S, V>,
): Row => {
  const { field, template, schema, from, into, set } = text
  return row<V>({
    field,
    needs: needs("policy"),
    from,
    *read(cx, orgId) {
      for (const language of pageLanguages) {
        const said = saidTexts(cx, orgId, { template, language })
        if (said) yield into(fromJson(schema, { language, ...blocksOf(said) }))
      }
    },
    write: async (cx, orgId, value) => {
      const { language } = value
      if (saidTexts(cx, orgId, { template, language })) throw saidError()
      await set(cx, value)
    },
    idOf: ({ language }) => language,
    taken: ({ language }) => ({ settings: [`${field}/${language}`] }),
  })
}

/** Texts by their keys, as their message has them: "block.field" stands in a message of its own. */
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

const saidError = () =>
  new Fault("already_exists", "text.said", "the organisation says something here already")

/** Messages that are ours: each has a kind, and is in one field with the others. */
const messagesRow = row<SetCustomMessageTextRequest>({
  field: "messages",
  needs: needs("policy"),
  from: (org) => org.messages,
  *read(cx, orgId) {
    for (const kind of ownMessageKinds) {
      for (const language of pageLanguages) {
        const said = saidTexts(cx, orgId, { template: `message.${kind}`, language })
        if (!said) continue
        const json = { kind, language, ...blocksOf(said) }
        yield { messages: [fromJson(SetCustomMessageTextRequestSchema, json)] }
      }
    }
  },
  write: async (cx, orgId, value) => {
    const { kind, language } = value
    if (saidTexts(cx, orgId, { template: `message.${kind}`, language })) throw saidError()
    await ask(cx, method.setCustomMessageText, value)
  },
  idOf: ({ kind, language }) => `${kind}/${language}`,
  taken: ({ kind, language }) => ({ settings: [`messages/${kind}/${language}`] }),
})

export const textRows = [
  messagesRow,
  textRow({
    field: "loginTexts",
    template: "login",
    schema: SetCustomLoginTextsRequestSchema,
    from: (org) => org.loginTexts,
    into: (value) => ({ loginTexts: [value] }),
    set: (cx, value) => ask(cx, method.setCustomLoginText, value),
  }),
  textRow({
    field: "initMessages",
    template: "message.init",
    schema: SetCustomInitMessageTextRequestSchema,
    from: (org) => org.initMessages,
    into: (value) => ({ initMessages: [value] }),
    set: (cx, value) => ask(cx, method.setCustomInitMessageText, value),
  }),
  textRow({
    field: "passwordResetMessages",
    template: "message.password_reset",
    schema: SetCustomPasswordResetMessageTextRequestSchema,
    from: (org) => org.passwordResetMessages,
    into: (value) => ({ passwordResetMessages: [value] }),
    set: (cx, value) => ask(cx, method.setCustomPasswordResetMessageText, value),
  }),
  textRow({
    field: "verifyEmailMessages",
    template: "message.verify_email",
    schema: SetCustomVerifyEmailMessageTextRequestSchema,
    from: (org) => org.verifyEmailMessages,
    into: (value) => ({ verifyEmailMessages: [value] }),
    set: (cx, value) => ask(cx, method.setCustomVerifyEmailMessageText, value),
  }),
  textRow({
    field: "verifyPhoneMessages",
    template: "message.verify_phone",
    schema: SetCustomVerifyPhoneMessageTextRequestSchema,
    from: (org) => org.verifyPhoneMessages,
    into: (value) => ({ verifyPhoneMessages: [value] }),
    set: (cx, value) => ask(cx, method.setCustomVerifyPhoneMessageText, value),
  }),
  textRow({
    field: "domainClaimedMessages",
    template: "message.domain_claimed",
    schema: SetCustomDomainClaimedMessageTextRequestSchema,
    from: (org) => org.domainClaimedMessages,
    into: (value) => ({ domainClaimedMessages: [value] }),
    set: (cx, value) => ask(cx, method.setCustomDomainClaimedMessageCustomText, value),
  }),
  textRow({
    field: "passwordlessRegistrationMessages",
    template: "message.passwordless_registration",
    schema: SetCustomPasswordlessRegistrationMessageTextRequestSchema,
    from: (org) => org.passwordlessRegistrationMessages,
    into: (value) => ({ passwordlessRegistrationMessages: [value] }),
    set: (cx, value) => ask(cx, method.setCustomPasswordlessRegistrationMessageCustomText, value),
  }),
  textRow({
    field: "verifySmsOtpMessages",
    template: "message.verify_sms_otp",
    schema: SetCustomVerifySMSOTPMessageTextRequestSchema,
    from: (org) => org.verifySmsOtpMessages,
    into: (value) => ({ verifySmsOtpMessages: [value] }),
    set: (cx, value) => ask(cx, method.setCustomVerifySMSOTPMessageText, value),
  }),
  textRow({
    field: "verifyEmailOtpMessages",
    template: "message.verify_email_otp",
    schema: SetCustomVerifyEmailOTPMessageTextRequestSchema,
    from: (org) => org.verifyEmailOtpMessages,
    into: (value) => ({ verifyEmailOtpMessages: [value] }),
    set: (cx, value) => ask(cx, method.setCustomVerifyEmailOTPMessageText, value),
  }),
  textRow({
    field: "inviteUserMessages",
    template: "message.invite_user",
    schema: SetCustomInviteUserMessageTextRequestSchema,
    from: (org) => org.inviteUserMessages,
    into: (value) => ({ inviteUserMessages: [value] }),
    set: (cx, value) => ask(cx, method.setCustomInviteUserMessageCustomText, value),
  }),
] as const
