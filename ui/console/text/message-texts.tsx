import { TextArea, TextField } from "../../kit/index.ts"
import { ConfirmButton, ContestedField, EditSection, FormFields, useForm } from "../form/index.ts"
import { HistoryButton } from "../list/index.ts"
import { Facts, notify, t } from "../shell/index.ts"
import {
  type FieldName,
  fieldsOfKind,
  fillPlaceholders,
  findUnknownPlaceholder,
  type KindName,
  placeholdersByKind,
  samples,
} from "./message-kind.ts"
import {
  type EffectiveTexts,
  type MessageFieldTexts,
  operationsOf,
  resetMessageTexts,
  restoreMessageTexts,
  saveMessageTexts,
  type TextOwner,
  textHistory,
  toMessageTexts,
  useMessageTexts,
} from "./message-text.ts"
import { Placeholders, useCaret } from "./placeholders.tsx"

type MessageTextsProps = {
  readonly kind: KindName
  readonly owner: TextOwner
  readonly language: string
}

/** Texts of one kind of message in one language, with their owner and a form. */
export function MessageTexts(props: MessageTextsProps) {
  const effective = useMessageTexts(props.kind, props.owner, props.language)
  if (!effective) return <p className="quiet">{t("list.denied")}</p>
  const part = { ...props, effective }
  return (
    <EditSection
      needs={operationsOf(props.owner).set}
      title={t(`messages.kind.${props.kind}`)}
      facts={<TextFacts {...part} />}
      extraActions={<TextHistory {...part} />}
      form={(placement) => <MessageForm {...part} {...placement} />}
    />
  )
}

/** History of the texts, and a button to reset them. */
function TextHistory(part: MessageTextsPart) {
  const { kind, owner, language, effective } = part
  const of = textHistory(`message.${kind}`, owner, language)
  return (
    <>
      <HistoryButton of={of} name={t(`messages.kind.${kind}`)} />
      {effective.isOwn && <ResetTexts {...part} />}
    </>
  )
}

type MessageTextsPart = MessageTextsProps & { readonly effective: EffectiveTexts }

function TextFacts({ kind, owner, effective: { own, inherited } }: MessageTextsPart) {
  const above = t(owner === undefined ? "texts.standard" : "policy.inherited")
  return (
    <Facts
      rows={fieldsOfKind(kind).map((field) => [
        t(`texts.${field}`),
        <>
          <span className="message-text">{own[field] || inherited[field] || "–"}</span>
          <span className="quiet small">{own[field] ? t("policy.own") : above}</span>
        </>,
      ])}
    />
  )
}

type MessageFormProps = MessageTextsPart & { readonly id: string; readonly close: () => void }

function MessageForm({ kind, owner, language, effective, id, close }: MessageFormProps) {
  const { own, inherited } = effective
  const caret = useCaret()
  const form = useForm<MessageFieldTexts>({
    id: `${id} ${kind} ${language} ${owner ?? ""}`,
    initial: own,
    authored: true,
    save: (texts) => saveMessageTexts(kind, owner, { language, words: texts }),
    done: close,
  })
  const { values, change } = form
  const stray = (field: FieldName) => findUnknownPlaceholder(kind, values[field])
  const put = (text: string) => {
    const insertion = caret.put(text)
    const field = fieldsOfKind(kind).find((one) => one === insertion?.name)
    if (insertion && field) change({ [field]: insertion.value })
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
    <FormFields
      form={form}
      onCancel={close}
      disabled={fieldsOfKind(kind).some((field) => stray(field) !== undefined)}
    >
      <p className="quiet section-lead">{t("texts.form_lead")}</p>
      <div className="beside">
        <div className="checks">
          {fieldsOfKind(kind).map((field) => (
            <ContestedField key={field} form={form} name={field} label={t(`texts.${field}`)}>
              {field === "text" || field === "greeting" || field === "footerText" ? (
                <TextArea rows={field === "text" ? 5 : 2} {...wired(field)} maxLength={10_000} />
              ) : (
                <TextField {...wired(field)} maxLength={500} />
              )}
            </ContestedField>
          ))}
          <Placeholders
            names={placeholdersByKind[kind]}
            format={(name) => `{{.${name}}}`}
            onPick={put}
          />
        </div>
        <MessagePreview
          kind={kind}
          words={toMessageTexts((field) => values[field] || inherited[field])}
        />
      </div>
    </FormFields>
  )
}

type MessagePreviewProps = { readonly kind: KindName; readonly words: MessageFieldTexts }

/** A preview of the message while typing. */
function MessagePreview({ kind, words: texts }: MessagePreviewProps) {
  const previewOf = (field: FieldName) => fillPlaceholders(texts[field], samples)
  const isMail = fieldsOfKind(kind).length > 1
  return (
    <figure className="preview">
      <figcaption className="quiet small">{t("texts.preview")}</figcaption>
      <div className="preview-page" inert>
        {isMail && (
          <p className="preview-subject">
            <strong>{previewOf("subject")}</strong>{" "}
            <span className="quiet">{previewOf("preHeader")}</span>
          </p>
        )}
        <div className="card gate-card">
          {isMail && <p className="preview-title">{previewOf("title")}</p>}
          {isMail && <p className="message-text">{previewOf("greeting")}</p>}
          <p className="message-text">{previewOf("text")}</p>
          {isMail && previewOf("buttonText") && (
            <span className="button button-primary">{previewOf("buttonText")}</span>
          )}
          {isMail && previewOf("footerText") && (
            <p className="quiet small message-text">{previewOf("footerText")}</p>
          )}
        </div>
      </div>
    </figure>
  )
}

/** Resets to the inherited texts; can be undone. */
function ResetTexts({ kind, owner, language, effective }: MessageTextsPart) {
  const title = t(`messages.kind.${kind}`)
  const undo = () => restoreMessageTexts(kind, owner, { language, words: effective.own })
  return (
    <ConfirmButton
      small
      needs={operationsOf(owner).reset}
      label={t("texts.reset_do")}
      subject={title}
      consequence={t(owner === undefined ? "texts.reset_standard" : "texts.reset_instance")}
      act={() => resetMessageTexts(kind, owner, language)}
      done={() => notify({ text: t("texts.reset_told", { name: title }), undo })}
    />
  )
}
