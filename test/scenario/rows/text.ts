// Texts of messages and login pages: the same rows for each text.
import { language, type TextRow, textRows as texts } from "../../support/texts.ts"
import type { Row } from "../row.ts"

const admin = "admin.v1.AdminService"
const management = "management.v1.ManagementService"
const settings = "settings.v2.SettingsService"

const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)

const rowsOf = ({ set, get, reset, instance, own, names }: TextRow): readonly Row[] =>
  [admin, management].flatMap((service): readonly Row[] => {
    const [level, call] =
      service === admin ? (["instance", set.instance] as const) : (["org", set.org] as const)
    const named = { language, ...names }
    const body = { ...named, ...(service === admin ? instance : own) }
    const once = { as: "owner", once: true } as const
    const said = `${service}/${capital(call)}`
    return [
      {
        call: `${service}/${capital(get.standard)}`,
        as: "owner",
        body: named,
        expect: { customText: { isDefault: true } },
      },
      {
        call: `${service}/${capital(get.custom)}`,
        ...once,
        given: [[said, body]],
        body: named,
        expect: { customText: service === admin ? instance : own },
      },
      { call: said, ...once, body, events: [`${level}.customtext.set`] },
      {
        call: `${service}/${capital(reset)}`,
        ...once,
        given: [[said, body]],
        body: named,
        events: [`${level}.customtext.template.removed`],
      },
    ]
  })

const translations = { password: { title: "Und jetzt dein Passwort" } }

export const textRows: readonly Row[] = [
  ...texts.flatMap(rowsOf),
  {
    call: `${settings}/GetHostedLoginTranslation`,
    as: "owner",
    body: { system: true, locale: "en" },
    expect: { translations: { password: { title: "Enter your password" } } },
  },
  {
    call: `${settings}/SetHostedLoginTranslation`,
    as: "owner",
    once: true,
    body: { instance: true, locale: language, translations },
    events: ["instance.customtext.set"],
  },
]
