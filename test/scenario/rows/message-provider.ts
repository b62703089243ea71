// Providers of messages. No outside host responds in these rows, so nothing is sent.
import type { Row } from "../row.ts"

const admin = "admin.v1.AdminService"
const smtp = {
  senderAddress: "id@example.com",
  senderName: "Acme",
  tls: true,
  host: "mail.example.com",
}
const login = { user: "id", password: "other" }
const receiver = { receiverAddress: "ada@example.com" }
const set = "instance.smtp.config"
const password = `${set}.password.changed`
const key = "message.provider.signing.key.changed"

/** The same operations under two names; the older ones support only SMTP. */
const smtpRows = [
  { name: (verb: string) => `${verb}SMTPConfig`, id: "GetSMTPConfigById", one: "smtpConfig" },
  { name: (verb: string) => `${verb}EmailProviderSMTP`, id: "GetEmailProviderById", one: "config" },
].flatMap(({ name, id, one }): readonly Row[] => {
  const call = (verb: string, more = "") => `${admin}/${name(verb)}${more}`
  const as = "owner"
  return [
    { call: call("Add"), as, body: { ...smtp, ...login }, events: [`${set}.added`, password] },
    {
      call: `${admin}/${id}`,
      as,
      body: { id: "$mailServer" },
      expect: { [one]: { id: "$mailServer" } },
    },
    {
      call: call("Update"),
      as,
      body: { id: "$mailServer", ...smtp, user: "id", senderName: "Acme AG" },
      events: [`${set}.changed`],
    },
    {
      call: call("Update"),
      name: "a password is for the host that it was given to",
      as,
      body: { id: "$mailServer", ...smtp, user: "id", host: "elsewhere.example.com" },
      events: [`${set}.changed`, "message.provider.secret.removed"],
    },
    {
      call: call("Update", "Password"),
      as,
      body: { id: "$mailServer", password: "new" },
      events: [`${set}.changed`, password],
    },
    {
      call: call("Test"),
      as,
      body: { ...smtp, ...login, ...receiver },
      code: "failed_precondition",
      id: "message_provider.test_failed",
    },
    {
      call: call("Test", "ById"),
      as,
      body: { id: "$mailServer", ...receiver },
      code: "failed_precondition",
      id: "message_provider.test_failed",
    },
  ]
})

type ProviderNames = {
  /** The names in the operations, and the event of each state change. */
  readonly name: string
  readonly thing: string
  readonly event: string
  readonly list: string
}

const stateRows = ({ name, thing, event, list }: ProviderNames): readonly Row[] => {
  const id = { id: `$${thing}` }
  const activate = `${admin}/Activate${name}`
  const given = [[activate, id]] as const
  return [
    { call: `${admin}/${list}`, as: "owner", once: true },
    { call: activate, as: "owner", once: true, body: id, events: [`${event}activated`] },
    {
      call: `${admin}/Deactivate${name}`,
      as: "owner",
      once: true,
      given,
      body: id,
      events: [`${event}deactivated`],
    },
    {
      call: `${admin}/Remove${name}`,
      as: "owner",
      body: id,
      events: [`${event}removed`, "message.provider.secret.removed"],
    },
    {
      call: activate,
      name: "a manager of one organisation may not",
      body: id,
      code: "permission_denied",
      id: "access.denied",
    },
  ]
}

const activeRows: readonly Row[] = ["GetSMTPConfig", "GetEmailProvider"].map((call) => ({
  call: `${admin}/${call}`,
  as: "owner",
  once: true,
  given: [[`${admin}/ActivateEmailProvider`, { id: "$mailServer" }]],
  expect: { [call === "GetSMTPConfig" ? "smtpConfig" : "config"]: { id: "$mailServer" } },
}))

const serviceRows = [
  { of: "EmailProvider", thing: "mailService", event: `${set}.http` },
  { of: "SMSProvider", thing: "smsService", event: "instance.sms.confighttp" },
].flatMap(({ of, thing, event }): readonly Row[] => [
  {
    call: `${admin}/Add${of}HTTP`,
    as: "owner",
    body: { endpoint: "https://send.example.com" },
    events: [`${event}.added`, key],
  },
  {
    call: `${admin}/Update${of}HTTP`,
    as: "owner",
    body: { id: `$${thing}`, endpoint: "https://send.example.com", expirationSigningKey: "0s" },
    events: [`${event}.changed`, key],
  },
])

const twilio = { sid: "AC2", senderNumber: "+41791234567" }

export const messageProviderRows: readonly Row[] = [
  ...smtpRows,
  ...stateRows({
    name: "SMTPConfig",
    thing: "mailServer",
    event: `${set}.`,
    list: "ListSMTPConfigs",
  }),
  ...stateRows({
    name: "EmailProvider",
    thing: "mailService",
    event: `${set}.`,
    list: "ListEmailProviders",
  }),
  ...stateRows({
    name: "SMSProvider",
    thing: "twilio",
    event: "instance.sms.config",
    list: "ListSMSProviders",
  }),
  ...activeRows,
  ...serviceRows,
  {
    call: `${admin}/GetSMSProvider`,
    as: "owner",
    body: { id: "$twilio" },
    expect: { config: { twilio: { sid: "AC1" } } },
  },
  {
    call: `${admin}/AddSMSProviderTwilio`,
    as: "owner",
    body: { ...twilio, token: "secret" },
    events: ["instance.sms.configtwilio.added", "instance.sms.configtwilio.token.changed"],
  },
  {
    call: `${admin}/UpdateSMSProviderTwilio`,
    as: "owner",
    body: { id: "$twilio", ...twilio },
    events: ["instance.sms.configtwilio.changed", "message.provider.secret.removed"],
  },
  {
    call: `${admin}/UpdateSMSProviderTwilioToken`,
    as: "owner",
    body: { id: "$twilio", token: "new" },
    events: ["instance.sms.configtwilio.changed", "instance.sms.configtwilio.token.changed"],
  },
  ...["FileSystem", "Log"].map(
    (where): Row => ({
      call: `${admin}/Get${where}NotificationProvider`,
      as: "owner",
      code: "not_found",
      id: "message_provider.none_active",
    }),
  ),
]
