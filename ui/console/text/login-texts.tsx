import { Fragment } from "react"
import { SettingsService } from "../../../src/gen/core/settings/v2/settings_service_pb.ts"
import { TextArea } from "../../kit/index.ts"
import { ConfirmButton, Contested, EditSection, Fields, useForm } from "../form/index.ts"
import { HistoryButton } from "../list/index.ts"
import { has, notify, t } from "../shell/index.ts"
import { restoreLoginTexts, saveLoginTexts, useLoginTexts } from "./login-translation.ts"
import { type TextOwner, textHistory } from "./message-text.ts"
import { Placeholders, useCaret } from "./placeholders.tsx"
import { type Role, roleOf, screenOf, type Texts } from "./text-key.ts"

type LoginProps = { readonly screen: string; readonly place: TextOwner; readonly language: string }

/** What one screen of the sign-in says in one language. */
export function LoginTexts(props: LoginProps) {
  const { screen, place, language } = props
  const found = useLoginTexts(place, language)
  if (!found) return <p className="quiet">{t("list.denied")}</p>
  const keys = Object.keys(found.inherited).filter((key) => screenOf(key) === screen)
  const part = { ...props, ...found, keys }
  return (
    <EditSection
      needs={SettingsService.method.setHostedLoginTranslation}
      title={screenName(screen)}
      facts={<Facts {...part} />}
      more={<More {...part} />}
      form={(placed) => <ScreenForm {...part} {...placed} />}
    />
  )
}

/** What the place said before, on all screens, and back to what is said above. */
function More(part: Part) {
  const { place, language, own, keys } = part
  return (
    <>
      <HistoryButton of={textHistory("hosted_login", place, language)} name={t("nav.texts")} />
      {keys.some((key) => own[key]) && <Reset {...part} />}
    </>
  )
}

/** A screen in the reader's words; one that is newer than these by its key. */
export function screenName(screen: string): string {
  const key = `texts.screen.${screen}`
  return t("texts.screen", { name: has(key) ? t(key) : screen.replaceAll("_", " ") })
}

type Part = LoginProps & {
  readonly own: Texts
  readonly inherited: Texts
  readonly keys: readonly string[]
}

function Facts({ place, own, inherited, keys }: Part) {
  const above = t(place === undefined ? "texts.standard" : "policy.inherited")
  return (
    <dl className="facts">
      {keys.map((key) => (
        <Fragment key={key}>
          <dt>{t(`texts.role.${roleOf(key)}`)}</dt>
          <dd>
            <span className="message-text">{shown(own[key] ?? inherited[key] ?? "")}</span>
            <span className="quiet small">{own[key] ? t("policy.own") : above}</span>
            {own[key] && (
              <span className="quiet small message-text">{shown(inherited[key] ?? "")}</span>
            )}
          </dd>
        </Fragment>
      ))}
    </dl>
  )
}

/** As much of a text as tells it from others, for the label of its field. */
const beginning = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text)

type FormProps = Part & { readonly id: string; readonly close: () => void }

function ScreenForm({ screen, place, language, own, inherited, keys, id, close }: FormProps) {
  const caret = useCaret()
  const form = useForm<Record<string, string>>({
    id: `${id} ${screen} ${language} ${place ?? ""}`,
    initial: Object.fromEntries(keys.map((key) => [key, own[key] ?? ""])),
    authored: true,
    // Other screens keep what they say.
    save: (values) => saveLoginTexts(place, language, { ...own, ...values }),
    done: close,
  })
  const { values, change } = form
  const names = [...new Set(keys.flatMap((key) => valuesIn(inherited[key] ?? "")))]
  const labelOf = (key: string) => {
    const text = beginning(shown(inherited[key] ?? ""))
    return t("texts.says", { role: t(`texts.role.${roleOf(key)}`), text })
  }
  const put = (text: string) => {
    const made = caret.put(text)
    if (made) change({ [made.name]: made.value })
  }
  return (
    <Fields form={form} onCancel={close}>
      <p className="quiet section-lead">{t("texts.form_lead")}</p>
      <div className="beside">
        <div className="checks">
          {keys.map((key) => (
            <Contested key={key} form={form} name={key} label={labelOf(key)}>
              <TextArea
                label={labelOf(key)}
                rows={(values[key] || inherited[key] || "").length > 60 ? 3 : 1}
                placeholder={inherited[key]}
                {...form.text(key)}
                maxLength={1000}
                onFocus={caret.onFocus}
              />
            </Contested>
          ))}
          <Placeholders names={names} show={(name) => `{$${name}}`} onPick={put} />
        </div>
        <figure className="preview">
          <figcaption className="quiet small">{t("texts.preview")}</figcaption>
          <div className="preview-page" inert>
            <div className="card gate-card">
              {keys.map((key) => (
                <p key={key} className={looks[roleOf(key)]}>
                  {shown(values[key] || inherited[key] || "")}
                </p>
              ))}
            </div>
          </div>
        </figure>
      </div>
    </Fields>
  )
}

/** How each looks on its page. */
const looks: Readonly<Record<Role, string>> = {
  heading: "preview-title",
  button: "button button-primary",
  field: "field-label",
  hint: "field-hint",
  error: "field-error",
  text: "message-text",
}

/** The values that a text of the pages has (MessageFormat 2). */
const valuesIn = (text: string): readonly string[] =>
  [...text.matchAll(/\{\$(\w+)/g)].flatMap(([, name]) => name ?? [])

/** A text for people: of one with plural forms the last, which most numbers take. */
function shown(text: string): string {
  const forms = [...text.matchAll(/\{\{(.*?)\}\}/gs)].flatMap(([, form]) => form ?? [])
  return (forms.at(-1) ?? text).replace(/\{\$(\w+)[^}]*\}/g, (_, name: string) => `‹${name}›`)
}

/** Back to what is said above, for this screen alone; it can be undone. */
function Reset({ screen, place, language, own, keys }: Part) {
  const title = screenName(screen)
  const others = Object.fromEntries(Object.entries(own).filter(([key]) => !keys.includes(key)))
  const taken = Object.fromEntries(Object.entries(own).filter(([key]) => keys.includes(key)))
  const undo = () => restoreLoginTexts(place, language, taken)
  return (
    <ConfirmButton
      small
      needs={SettingsService.method.setHostedLoginTranslation}
      label={t("texts.reset_do")}
      what={title}
      consequence={t(place === undefined ? "texts.reset_standard" : "texts.reset_instance")}
      act={() => saveLoginTexts(place, language, others)}
      done={() => notify({ text: t("texts.reset_told", { name: title }), undo })}
    />
  )
}
