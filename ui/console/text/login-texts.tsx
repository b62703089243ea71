import { Fragment } from "react"
import { SettingsService } from "../../../src/gen/core/settings/v2/settings_service_pb.ts"
import { TextArea } from "../../kit/index.ts"
import { ConfirmButton, ContestedField, EditSection, FormFields, useForm } from "../form/index.ts"
import { HistoryButton } from "../list/index.ts"
import { has, notify, t } from "../shell/index.ts"
import { restoreLoginTexts, saveLoginTexts, useLoginTexts } from "./login-translation.ts"
import { type TextOwner, textHistory } from "./message-text.ts"
import { Placeholders, useCaret } from "./placeholders.tsx"
import { roleOf, screenOf, type TextRole, type Texts } from "./text-key.ts"

type LoginTextsProps = {
  readonly screen: string
  readonly owner: TextOwner
  readonly language: string
}

/** Texts of one login screen in one language. */
export function LoginTexts(props: LoginTextsProps) {
  const { screen, owner, language } = props
  const found = useLoginTexts(owner, language)
  if (!found) return <p className="quiet">{t("list.denied")}</p>
  const keys = Object.keys(found.inherited).filter((key) => screenOf(key) === screen)
  const part = { ...props, ...found, keys }
  return (
    <EditSection
      needs={SettingsService.method.setHostedLoginTranslation}
      title={screenName(screen)}
      facts={<TextFacts {...part} />}
      extraActions={<TextHistory {...part} />}
      form={(placement) => <ScreenForm {...part} {...placement} />}
    />
  )
}

/** History of the owner's texts on all screens, and a button to reset them. */
function TextHistory(part: LoginTextsPart) {
  const { owner, language, own, keys } = part
  return (
    <>
      <HistoryButton of={textHistory("hosted_login", owner, language)} name={t("nav.texts")} />
      {keys.some((key) => own[key]) && <ResetTexts {...part} />}
    </>
  )
}

/** The translated name of a screen; the key for an unknown one. */
export function screenName(screen: string): string {
  const key = `texts.screen.${screen}`
  return t("texts.screen", { name: has(key) ? t(key) : screen.replaceAll("_", " ") })
}

type LoginTextsPart = LoginTextsProps & {
  readonly own: Texts
  readonly inherited: Texts
  readonly keys: readonly string[]
}

function TextFacts({ owner, own, inherited, keys }: LoginTextsPart) {
  const above = t(owner === undefined ? "texts.standard" : "policy.inherited")
  return (
    <dl className="facts">
      {keys.map((key) => (
        <Fragment key={key}>
          <dt>{t(`texts.role.${roleOf(key)}`)}</dt>
          <dd>
            <span className="message-text">{previewText(own[key] ?? inherited[key] ?? "")}</span>
            <span className="quiet small">{own[key] ? t("policy.own") : above}</span>
            {own[key] && (
              <span className="quiet small message-text">{previewText(inherited[key] ?? "")}</span>
            )}
          </dd>
        </Fragment>
      ))}
    </dl>
  )
}

/** The beginning of a text, long enough to identify it in a label. */
const truncate = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text)

type ScreenFormProps = LoginTextsPart & { readonly id: string; readonly close: () => void }

function ScreenForm({ screen, owner, language, own, inherited, keys, id, close }: ScreenFormProps) {
  const caret = useCaret()
  const form = useForm<Record<string, string>>({
    id: `${id} ${screen} ${language} ${owner ?? ""}`,
    initial: Object.fromEntries(keys.map((key) => [key, own[key] ?? ""])),
    authored: true,
    // Texts of other screens are kept.
    save: (values) => saveLoginTexts(owner, language, { ...own, ...values }),
    done: close,
  })
  const { values, change } = form
  const names = [...new Set(keys.flatMap((key) => placeholdersIn(inherited[key] ?? "")))]
  const labelOf = (key: string) => {
    const text = truncate(previewText(inherited[key] ?? ""))
    return t("texts.says", { role: t(`texts.role.${roleOf(key)}`), text })
  }
  const put = (text: string) => {
    const insertion = caret.put(text)
    if (insertion) change({ [insertion.name]: insertion.value })
  }
  return (
    <FormFields form={form} onCancel={close}>
      <p className="quiet section-lead">{t("texts.form_lead")}</p>
      <div className="beside">
        <div className="checks">
          {keys.map((key) => (
            <ContestedField key={key} form={form} name={key} label={labelOf(key)}>
              <TextArea
                label={labelOf(key)}
                rows={(values[key] || inherited[key] || "").length > 60 ? 3 : 1}
                placeholder={inherited[key]}
                {...form.text(key)}
                maxLength={1000}
                onFocus={caret.onFocus}
              />
            </ContestedField>
          ))}
          <Placeholders names={names} format={(name) => `{$${name}}`} onPick={put} />
        </div>
        <figure className="preview">
          <figcaption className="quiet small">{t("texts.preview")}</figcaption>
          <div className="preview-page" inert>
            <div className="card gate-card">
              {keys.map((key) => (
                <p key={key} className={previewClasses[roleOf(key)]}>
                  {previewText(values[key] || inherited[key] || "")}
                </p>
              ))}
            </div>
          </div>
        </figure>
      </div>
    </FormFields>
  )
}

/** The style of each text role in the preview. */
const previewClasses: Readonly<Record<TextRole, string>> = {
  heading: "preview-title",
  button: "button button-primary",
  field: "field-label",
  hint: "field-hint",
  error: "field-error",
  text: "message-text",
}

/** Placeholders in a text of the pages (MessageFormat 2). */
const placeholdersIn = (text: string): readonly string[] =>
  [...text.matchAll(/\{\$(\w+)/g)].flatMap(([, name]) => name ?? [])

/** A text for display; of plural forms the last one, which applies to most numbers. */
function previewText(text: string): string {
  const forms = [...text.matchAll(/\{\{(.*?)\}\}/gs)].flatMap(([, form]) => form ?? [])
  return (forms.at(-1) ?? text).replace(/\{\$(\w+)[^}]*\}/g, (_, name: string) => `‹${name}›`)
}

/** Resets the texts of this screen to the inherited ones; can be undone. */
function ResetTexts({ screen, owner, language, own, keys }: LoginTextsPart) {
  const title = screenName(screen)
  const others = Object.fromEntries(Object.entries(own).filter(([key]) => !keys.includes(key)))
  const removedTexts = Object.fromEntries(Object.entries(own).filter(([key]) => keys.includes(key)))
  const undo = () => restoreLoginTexts(owner, language, removedTexts)
  return (
    <ConfirmButton
      small
      needs={SettingsService.method.setHostedLoginTranslation}
      label={t("texts.reset_do")}
      subject={title}
      consequence={t(owner === undefined ? "texts.reset_standard" : "texts.reset_instance")}
      act={() => saveLoginTexts(owner, language, others)}
      done={() => notify({ text: t("texts.reset_told", { name: title }), undo })}
    />
  )
}
