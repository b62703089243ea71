import { Button } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type FormPostPageProps = PageProps & {
  /** The registered URI that the form posts to. */
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
} & (
    | {
        readonly application: string
        /** Whether the response is an error. */
        readonly isError?: boolean
        readonly provider?: undefined
      }
    /** The identity provider, for a request to it. */
    | { readonly provider: string; readonly application?: undefined }
  )

/**
 * OAuth 2.0 Form Post Response Mode §2, and SAML Bindings §3.5: a response, or a request to an
 * identity provider, in a form that submits automatically.
 */
export function FormPostPage(props: FormPostPageProps) {
  const { t, action, fields } = props
  const { title, lead } = textsFor(props)
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={lead} />
      <form method="post" action={action} data-autosubmit="">
        {Object.entries(fields).map(([name, value]) => (
          <input type="hidden" key={name} name={name} value={value} />
        ))}
        <Button type="submit" wide>
          {t("form_post.submit")}
        </Button>
      </form>
    </Frame>
  )
}

function textsFor(props: FormPostPageProps) {
  const { t } = props
  if (props.provider !== undefined) {
    const { provider } = props
    return { title: t("form_post.away_title"), lead: t("form_post.away_lead", { provider }) }
  }
  const { application, isError = false } = props
  return isError
    ? { title: t("continue.refused_title"), lead: t("form_post.refused", { application }) }
    : { title: t("form_post.title"), lead: t("form_post.lead", { application }) }
}
