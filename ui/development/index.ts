export { DemoPage, type DemoPageProps, type DemoTokens } from "./demo-page.tsx"
export { MessagePage, type MessagePageProps, type ShownMessage } from "./message-page.tsx"
export { OverviewPage, type OverviewPageProps, type SeededPerson } from "./overview-page.tsx"
export { developmentTexts, type Say } from "./texts/index.ts"
