import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import type { UpdateSMSProviderTwilioRequest } from "../../gen/core/admin/v1/sms_provider_pb.ts"
import {
  SMSProviderConfigState,
  type SMSProviderSchema,
} from "../../gen/core/settings/v1/provider_pb.ts"
import { mergeWithStored } from "../../protocol/api/mask.ts"
import type { Cx } from "../../store/index.ts"
import type { Provider, Twilio } from "./model.ts"
import {
  createServiceUpdate,
  createSigningKey,
  detailsOf,
  operationsOf,
  type ProviderStatus,
} from "./operations.ts"

const sms = operationsOf("sms")

/** The SMS providers. */
export const admin = bindHandlers<Cx>()(AdminService, {
  listSMSProviders: ({ query }, cx) => {
    const { details, rows } = sms.list(cx, query)
    return { details, result: rows.map((row) => toSmsProvider(cx, row)) }
  },
  getSMSProvider: (req, cx) => ({ config: toSmsProvider(cx, sms.find(cx, req)) }),
  addSMSProviderTwilio: ({ token, ...req }, cx) =>
    sms.add(cx, { settings: twilioOf(req), secret: token }),
  updateSMSProviderTwilio: (req, cx) => sms.change(cx, req, twilioChange(req)),
  updateSMSProviderTwilioToken: ({ id, token: secret }, cx) =>
    sms.changeSecret(cx, { id }, { kind: "twilio", secret }),
  addSMSProviderHTTP: async ({ endpoint, description }, cx) => {
    const signingKey = createSigningKey(cx)
    const settings = { kind: "http", description, endpoint } as const
    return { ...(await sms.add(cx, { settings, secret: signingKey })), signingKey }
  },
  updateSMSProviderHTTP: async (req, cx) => {
    const { secret, wish } = createServiceUpdate(cx, req)
    const changed = await sms.change(cx, req, wish)
    return { ...changed, ...(secret && { signingKey: secret }) }
  },
  activateSMSProvider: sms.activate,
  deactivateSMSProvider: sms.deactivate,
  removeSMSProvider: sms.remove,
})

const twilioChange = (req: UpdateSMSProviderTwilioRequest) =>
  req.updateMask
    ? {
        kind: "twilio" as const,
        say: (before: Provider) => ({ settings: twilioOf(mergeWithStored(req, before)) }),
      }
    : { settings: twilioOf(req) }

const twilioOf = ({
  sid,
  senderNumber,
  verifyServiceSid,
  description,
}: Omit<Twilio, "kind">): Twilio => ({
  kind: "twilio",
  sid,
  senderNumber,
  verifyServiceSid,
  description,
})

function toSmsProvider(
  cx: Cx,
  display: ProviderStatus,
): MessageInitShape<typeof SMSProviderSchema> {
  const { provider, isActive } = display
  return {
    id: provider.id,
    details: detailsOf(cx, display),
    state: isActive
      ? SMSProviderConfigState.SMS_PROVIDER_CONFIG_ACTIVE
      : SMSProviderConfigState.SMS_PROVIDER_CONFIG_INACTIVE,
    description: provider.description,
    config: configOf(provider),
  }
}

function configOf(provider: Provider) {
  if (provider.kind !== "twilio") {
    const endpoint = provider.kind === "http" ? provider.endpoint : ""
    return { case: "http", value: { endpoint } } as const
  }
  const { sid, senderNumber, verifyServiceSid } = provider
  return { case: "twilio", value: { sid, senderNumber, verifyServiceSid } } as const
}
