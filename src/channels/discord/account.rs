//! Who the bot is.

use reqwest::Method;
use serde_json::Value;

use crate::channels::discord::api::{Api, Route};
use crate::channels::discord::events::Me;
use crate::channels::discord::fields::id;
use crate::channels::fields::text_at;
use crate::channels::http::CallError;

/// Asks who we are.
pub async fn introduce(api: &Api) -> Result<Me, CallError> {
    let user = api
        .get(&Route::new(Method::GET, "/users/@me", "GET me"))
        .await?;
    let nobody = || CallError::lost("the answer does not say who we are");
    let number = id(&user, "/id").ok_or_else(nobody)?;
    let application = application(api).await?;
    Ok(Me {
        id: number,
        username: text_at(&user, "/username").unwrap_or_default().to_owned(),
        application: id(&application, "/id").ok_or_else(nobody)?,
    })
}

/// Asks what our application is.
pub async fn application(api: &Api) -> Result<Value, CallError> {
    api.get(&Route::new(
        Method::GET,
        "/applications/@me",
        "GET application",
    ))
    .await
}
