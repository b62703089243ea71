export { DemoPage, type DemoPageProps, type DemoTokens } from "./demo-page.tsx"
export { MessagePage, type MessagePageProps, type ShownMessage } from "./message-page.tsx"
export { OverviewPage, type OverviewPageProps, type SeededUser } from "./overview-page.tsx"
export { type DevelopmentTranslate, developmentTexts } from "./texts/index.ts"
