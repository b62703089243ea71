import { Frame, Heading, type PageProps } from "../login/index.ts"
import type { DevelopmentTranslate } from "./texts/index.ts"

/** A message as the recipient sees it; `time` is ISO 8601. */
export type ShownMessage = {
  readonly id: string
  readonly channel: "email" | "sms"
  readonly to: string
  readonly time: string
  /** Empty for SMS. */
  readonly subject: string
  /** Plain text, with links listed separately. */
  readonly text: string
  readonly links: readonly string[]
}

export type MessagePageProps = PageProps & {
  readonly say: DevelopmentTranslate
  readonly messages: readonly ShownMessage[]
}

/** Messages to users, none of which were sent. */
export function MessagePage(props: MessagePageProps) {
  const { say, messages } = props
  const title = say("messages.title")
  return (
    <Frame {...props} title={title} wide>
      <Heading title={title} lead={say("messages.lead")} />
      {messages.length === 0 && <p>{say("messages.empty")}</p>}
      {messages.map((message) => (
        <article key={message.id} className="development-message">
          <p className="quiet small">
            {say(`messages.${message.channel}`, { to: message.to })}
            {" · "}
            <time dateTime={message.time}>{message.time.slice(0, 19).replace("T", " ")}</time>
          </p>
          {message.subject && <h2>{message.subject}</h2>}
          <p className="development-text">{message.text}</p>
          {message.links.map((link) => (
            <a key={link} href={link} rel="noreferrer">
              {link}
            </a>
          ))}
        </article>
      ))}
      <a href="/dev">{say("back")}</a>
    </Frame>
  )
}
