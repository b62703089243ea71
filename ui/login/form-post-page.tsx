import { Button } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type FormPostPageProps = PageProps & {
  /** The registered redirect URI the answer goes to. */
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
  readonly application: string
}

/** OAuth 2.0 Form Post Response Mode §2: carries the answer in a form that submits itself. */
export function FormPostPage(props: FormPostPageProps) {
  const { t, action, fields, application } = props
  return (
    <Frame {...props} title={t("form_post.title")}>
      <Heading title={t("form_post.title")} lead={t("form_post.lead", { application })} />
      <form method="post" action={action} data-autosubmit="">
        {Object.entries(fields).map(([name, value]) => (
          <input type="hidden" key={name} name={name} value={value} />
        ))}
        <noscript>
          <Button kind="primary" type="submit" wide>
            {t("form_post.submit")}
          </Button>
        </noscript>
      </form>
    </Frame>
  )
}
