import type { MessageInitShape } from "@bufbuild/protobuf"
import { share } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import { type SMTPConfigSchema, SMTPConfigState } from "../../gen/core/settings/v1/provider_pb.ts"
import type { Cx } from "../../store/index.ts"
import { noneActiveError, secretOf } from "./commands.ts"
import { operationsOf, type Shown, standOf } from "./operation.ts"
import { tryServer } from "./try.ts"
import { keptFor, secretFor, smtpChange, smtpOf, stepsOf, wishOf } from "./v1-smtp-form.ts"

const email = operationsOf("email")

/** SMTP servers as they were called before there were other providers of mail. */
export const admin = share<Cx>()(AdminService, {
  listSMTPConfigs: ({ query }, cx) => {
    const { details, rows } = email.list(cx, query, ["smtp"])
    return { details, result: rows.map((row) => toConfig(cx, row)) }
  },
  getSMTPConfig: (_, cx) => ({ smtpConfig: toConfig(cx, email.active(cx) ?? noneActiveError()) }),
  getSMTPConfigById: (req, cx) => ({ smtpConfig: toConfig(cx, email.find(cx, req)) }),
  addSMTPConfig: (req, cx) => email.add(cx, wishOf(req)),
  updateSMTPConfig: (req, cx) => email.change(cx, req, smtpChange(req)),
  updateSMTPConfigPassword: ({ id, password: secret }, cx) =>
    email.changeSecret(cx, { id }, { kind: "smtp", secret }),
  activateSMTPConfig: email.activate,
  deactivateSMTPConfig: email.deactivate,
  removeSMTPConfig: email.remove,
  testSMTPConfigById: async ({ id, receiverAddress: receiver }, cx) =>
    stepsOf(await tryServer(cx, { settings: smtpOf(cx, id), secret: secretOf(cx, id), receiver })),
  testSMTPConfig: async (req, cx) => {
    const wish = wishOf(req, keptFor(cx, req.id))
    const secret = secretFor(cx, { id: req.id, wish })
    const { settings } = wish
    return stepsOf(await tryServer(cx, { settings, secret, receiver: req.receiverAddress }))
  },
})

/** Of a service that is no SMTP server there is nothing to tell but that it is there. */
function toConfig(cx: Cx, shown: Shown): MessageInitShape<typeof SMTPConfigSchema> {
  const { provider, isActive } = shown
  const { senderAddress, senderName, tls, host, user, replyToAddress } = smtpOf(cx, provider.id)
  return {
    id: provider.id,
    details: standOf(cx, shown),
    description: provider.description,
    state: isActive ? SMTPConfigState.SMTP_CONFIG_ACTIVE : SMTPConfigState.SMTP_CONFIG_INACTIVE,
    senderAddress,
    senderName,
    tls,
    host,
    user,
    replyToAddress,
  }
}
