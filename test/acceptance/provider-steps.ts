// Requests about email and SMS providers, sent to two instances that use the same IDs.
import type { Step } from "./instance-steps.ts"

const admin = (name: string) => `core.admin.v1.AdminService/${name}`

const mail = {
  senderAddress: "konto@example.com",
  senderName: "Acme",
  host: "mail.example.com:465",
  user: "konto",
}
const endpoint = { endpoint: "https://send.example.com" }
const twilio = { sid: "AC1", senderNumber: "+41791234567" }
const receiver = { receiverAddress: "ada@example.com" }

/** One provider of each kind; their IDs are those of the last four created resources. */
export const createProviderSteps: readonly Step[] = [
  [admin("AddEmailProviderSMTP"), { ...mail, password: "s3cret" }],
  [admin("AddEmailProviderHTTP"), endpoint],
  [admin("AddSMSProviderTwilio"), { ...twilio, token: "s3cret" }],
  [admin("AddSMSProviderHTTP"), endpoint],
]

export const providerReadSteps: readonly Step[] = [
  ...["ListSMTPConfigs", "ListEmailProviders", "ListSMSProviders"].map(
    (name): Step => [admin(name), {}],
  ),
]

/** `ids`: the IDs of `providers`, in that order. */
export const providerChangeSteps = ([
  smtp,
  http,
  sms,
  smsHttp,
]: readonly string[]): readonly Step[] => [
  ...["GetSMTPConfigById", "GetEmailProviderById", "ActivateSMTPConfig"].map(
    (name): Step => [admin(name), { id: smtp }],
  ),
  ...["GetSMTPConfig", "GetEmailProvider"].map((name): Step => [admin(name), {}]),
  [admin("AddSMTPConfig"), { ...mail, password: "s3cret" }],
  [admin("UpdateSMTPConfig"), { ...mail, id: smtp, description: "Mail" }],
  [admin("UpdateSMTPConfigPassword"), { id: smtp, password: "other" }],
  [admin("UpdateEmailProviderSMTP"), { ...mail, id: smtp, description: "Relay" }],
  [admin("UpdateEmailProviderSMTPPassword"), { id: smtp, password: "s3cret" }],
  [admin("DeactivateSMTPConfig"), { id: smtp }],
  [admin("UpdateEmailProviderHTTP"), { ...endpoint, id: http, description: "Relay" }],
  [admin("ActivateEmailProvider"), { id: http }],
  [admin("DeactivateEmailProvider"), { id: http }],
  [admin("RemoveEmailProvider"), { id: http }],
  [admin("RemoveSMTPConfig"), { id: smtp }],
  [admin("GetSMSProvider"), { id: sms }],
  [admin("UpdateSMSProviderTwilio"), { ...twilio, id: sms, description: "Texts" }],
  [admin("UpdateSMSProviderTwilioToken"), { id: sms, token: "other" }],
  [admin("UpdateSMSProviderHTTP"), { ...endpoint, id: smsHttp, description: "Gateway" }],
  [admin("ActivateSMSProvider"), { id: smsHttp }],
  [admin("DeactivateSMSProvider"), { id: smsHttp }],
  [admin("RemoveSMSProvider"), { id: smsHttp }],
]

const absent = { id: "absent" }

/** Nothing is sent here, and no directory or log receives messages. */
export const rejectedProviderSteps: readonly (readonly [...Step, status: number])[] = [
  [admin("TestSMTPConfigById"), { ...absent, ...receiver }, 404],
  [admin("TestEmailProviderSMTPById"), { ...absent, ...receiver }, 404],
  [admin("TestSMTPConfig"), { ...mail, ...receiver, password: "s3cret" }, 400],
  [admin("TestEmailProviderSMTP"), { ...mail, ...receiver, password: "s3cret" }, 400],
  [admin("GetFileSystemNotificationProvider"), {}, 404],
  [admin("GetLogNotificationProvider"), {}, 404],
]
