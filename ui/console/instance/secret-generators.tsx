import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import {
  type SecretGenerator,
  SecretGeneratorType,
} from "../../../src/gen/core/settings/v1/settings_pb.ts"
import {
  type Amount,
  amountOf,
  DialogButton,
  durationOf,
  durationText,
  formOf,
} from "../form/index.ts"
import { HistoryButton, streamOf } from "../list/index.ts"
import { call, Facts, language, Section, t, unless, useReadIfAllowed } from "../shell/index.ts"

const { listSecretGenerators, updateSecretGenerator } = AdminService.method

/** Those that something is made by, in the order in which they are shown. */
const kinds = [
  { type: SecretGeneratorType.INIT_CODE, name: "invite", stream: "init_code" },
  { type: SecretGeneratorType.VERIFY_EMAIL_CODE, name: "email", stream: "verify_email_code" },
  { type: SecretGeneratorType.VERIFY_PHONE_CODE, name: "phone", stream: "verify_phone_code" },
  { type: SecretGeneratorType.APP_SECRET, name: "secret", stream: "app_secret" },
] as const

type Kind = (typeof kinds)[number]

const alphabets = [
  "includeLowerLetters",
  "includeUpperLetters",
  "includeDigits",
  "includeSymbols",
] as const

/** What codes and secrets are made of, and how long codes are good for. */
export function Generators() {
  const words = useWords()
  const found = useReadIfAllowed(listSecretGenerators)
  if (!found) return null
  const rows = kinds.flatMap((kind) => {
    const generator = found.result.find(({ generatorType }) => generatorType === kind.type)
    return generator ? [{ kind, generator }] : []
  })
  return (
    <Section title={t("generators.title")}>
      <p className="quiet section-lead">{t("generators.lead")}</p>
      <Facts
        rows={rows.map(({ kind, generator }) => [
          t(`generators.${kind.name}`),
          <>
            {words(generator)}
            <HistoryButton
              of={streamOf("secret_generator", kind.stream)}
              name={t(`generators.${kind.name}`)}
            />
            <DialogButton
              small
              needs={updateSecretGenerator}
              label={t("action.edit")}
              family={`generators-${kind.name}`}
              name={t(`generators.${kind.name}`)}
              form={generatorForm(kind, generator)}
            />
          </>,
        ])}
      />
    </Section>
  )
}

function useWords(): (generator: SecretGenerator) => string {
  const list = new Intl.ListFormat(language)
  return (generator) => {
    const { length, expiry } = generator
    const made = alphabets.filter((name) => generator[name]).map((name) => t(`generators.${name}`))
    const values = { length, of: list.format(made) }
    if (!expiry?.seconds) return t("generators.made_of", values)
    return t("generators.made_of_for", { ...values, time: durationText(expiry) })
  }
}

type Draft = {
  readonly length: string
  readonly expiry: Amount
  readonly of: readonly (typeof alphabets)[number][]
}

const generatorForm = ({ type }: Kind, generator: SecretGenerator) =>
  formOf<Draft, void>({
    initial: {
      length: String(generator.length),
      expiry: amountOf(generator.expiry),
      of: alphabets.filter((name) => generator[name]),
    },
    save: (draft) => saveGenerator(generator, draft),
    disabled: ({ of }) => of.length === 0,
    fields: ({ text, checks, duration }) => [
      text("length", t("generators.length"), {
        type: "number",
        inputMode: "numeric",
        min: 1,
        max: 128,
        required: true,
      }),
      checks("of", t("generators.of"), { of: alphabets, words: (one) => t(`generators.${one}`) }),
      type !== SecretGeneratorType.APP_SECRET && duration("expiry", t("generators.expiry")),
    ],
  })

async function saveGenerator({ generatorType }: SecretGenerator, draft: Draft): Promise<void> {
  const expiry = durationOf(draft.expiry)
  const included = Object.fromEntries(alphabets.map((name) => [name, draft.of.includes(name)]))
  const wanted = { generatorType, length: Number(draft.length), ...(expiry && { expiry }) }
  await unless("policy.unchanged", call(updateSecretGenerator, { ...wanted, ...included }))
}
