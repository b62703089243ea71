import { TextArea, TextField } from "../../kit/index.ts"
import { ConfirmButton, Contested, EditSection, Fields, useForm } from "../form/index.ts"
import { HistoryButton } from "../list/index.ts"
import { Facts, notify, t } from "../shell/index.ts"
import {
  type FieldName,
  fieldsOf,
  filled,
  type KindName,
  kinds,
  samples,
  strayIn,
} from "./message-kind.ts"
import {
  type EffectiveTexts,
  methodsAt,
  resetMessageTexts,
  restoreMessageTexts,
  saveMessageTexts,
  type TextOwner,
  textHistory,
  useMessageTexts,
  type Words,
  wordsOf,
} from "./message-text.ts"
import { Placeholders, useCaret } from "./placeholders.tsx"

type MessageProps = {
  readonly kind: KindName
  readonly place: TextOwner
  readonly language: string
}

/** What one kind of message says in one language: who says it, and its form. */
export function MessageTexts(props: MessageProps) {
  const standing = useMessageTexts(props.kind, props.place, props.language)
  if (!standing) return <p className="quiet">{t("list.denied")}</p>
  const part = { ...props, standing }
  return (
    <EditSection
      needs={methodsAt(props.place).set}
      title={t(`messages.kind.${props.kind}`)}
      facts={<TextFacts {...part} />}
      more={<More {...part} />}
      form={(placed) => <MessageForm {...part} {...placed} />}
    />
  )
}

/** What was said before, and back to what is said above. */
function More(part: Part) {
  const { kind, place, language, standing } = part
  const of = textHistory(`message.${kind}`, place, language)
  return (
    <>
      <HistoryButton of={of} name={t(`messages.kind.${kind}`)} />
      {standing.isOwn && <Reset {...part} />}
    </>
  )
}

type Part = MessageProps & { readonly standing: EffectiveTexts }

function TextFacts({ kind, place, standing: { own, inherited } }: Part) {
  const above = t(place === undefined ? "texts.standard" : "policy.inherited")
  return (
    <Facts
      rows={fieldsOf(kind).map((field) => [
        t(`texts.${field}`),
        <>
          <span className="message-text">{own[field] || inherited[field] || "–"}</span>
          <span className="quiet small">{own[field] ? t("policy.own") : above}</span>
        </>,
      ])}
    />
  )
}

type FormProps = Part & { readonly id: string; readonly close: () => void }

function MessageForm({ kind, place, language, standing, id, close }: FormProps) {
  const { own, inherited } = standing
  const caret = useCaret()
  const form = useForm<Words>({
    id: `${id} ${kind} ${language} ${place ?? ""}`,
    initial: own,
    authored: true,
    save: (words) => saveMessageTexts(kind, place, { language, words }),
    done: close,
  })
  const { values, change } = form
  const stray = (field: FieldName) => strayIn(kind, values[field])
  const put = (text: string) => {
    const made = caret.put(text)
    const field = fieldsOf(kind).find((one) => one === made?.name)
    if (made && field) change({ [field]: made.value })
  }
  const wired = (field: FieldName) => {
    const wrong = stray(field)
    return {
      label: t(`texts.${field}`),
      placeholder: inherited[field],
      ...form.text(field),
      ...(wrong && { error: t("texts.stray", { text: wrong }) }),
      onFocus: caret.onFocus,
    }
  }
  return (
    <Fields
      form={form}
      onCancel={close}
      disabled={fieldsOf(kind).some((field) => stray(field) !== undefined)}
    >
      <p className="quiet section-lead">{t("texts.form_lead")}</p>
      <div className="beside">
        <div className="checks">
          {fieldsOf(kind).map((field) => (
            <Contested key={field} form={form} name={field} label={t(`texts.${field}`)}>
              {field === "text" || field === "greeting" || field === "footerText" ? (
                <TextArea rows={field === "text" ? 5 : 2} {...wired(field)} maxLength={10_000} />
              ) : (
                <TextField {...wired(field)} maxLength={500} />
              )}
            </Contested>
          ))}
          <Placeholders names={kinds[kind]} show={(name) => `{{.${name}}}`} onPick={put} />
        </div>
        <Preview kind={kind} words={wordsOf((field) => values[field] || inherited[field])} />
      </div>
    </Fields>
  )
}

type PreviewProps = { readonly kind: KindName; readonly words: Words }

/** The message as it would arrive, while it is typed. */
function Preview({ kind, words }: PreviewProps) {
  const said = (field: FieldName) => filled(words[field], samples)
  const isMail = fieldsOf(kind).length > 1
  return (
    <figure className="preview">
      <figcaption className="quiet small">{t("texts.preview")}</figcaption>
      <div className="preview-page" inert>
        {isMail && (
          <p className="preview-subject">
            <strong>{said("subject")}</strong> <span className="quiet">{said("preHeader")}</span>
          </p>
        )}
        <div className="card gate-card">
          {isMail && <p className="preview-title">{said("title")}</p>}
          {isMail && <p className="message-text">{said("greeting")}</p>}
          <p className="message-text">{said("text")}</p>
          {isMail && said("buttonText") && (
            <span className="button button-primary">{said("buttonText")}</span>
          )}
          {isMail && said("footerText") && (
            <p className="quiet small message-text">{said("footerText")}</p>
          )}
        </div>
      </div>
    </figure>
  )
}

/** Back to what is said above; it can be undone. */
function Reset({ kind, place, language, standing }: Part) {
  const title = t(`messages.kind.${kind}`)
  const undo = () => restoreMessageTexts(kind, place, { language, words: standing.own })
  return (
    <ConfirmButton
      small
      needs={methodsAt(place).reset}
      label={t("texts.reset_do")}
      what={title}
      consequence={t(place === undefined ? "texts.reset_standard" : "texts.reset_instance")}
      act={() => resetMessageTexts(kind, place, language)}
      done={() => notify({ text: t("texts.reset_told", { name: title }), undo })}
    />
  )
}
